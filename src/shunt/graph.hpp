/// Module header of `graph`: graphs and sparse matrices from files, generated ones, and graphs that are dealt out over
/// the PEs of a job.
#pragma once

#include <shunt/graph/adjacency.hpp>
#include <shunt/graph/deal.hpp>
#include <shunt/graph/generate.hpp>
#include <shunt/graph/graph.hpp>
#include <shunt/graph/pieces.hpp>
#include <shunt/graph/read.hpp>
