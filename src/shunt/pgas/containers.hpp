/// The distributed containers: pgas/containers/. Not in pgas.hpp: programs that have none need not compile them.
#pragma once

#include <shunt/pgas/containers/bag.hpp>
#include <shunt/pgas/containers/balance.hpp>
#include <shunt/pgas/containers/counting_set.hpp>
#include <shunt/pgas/containers/disjoint_sets.hpp>
#include <shunt/pgas/containers/map.hpp>
#include <shunt/pgas/containers/multimap.hpp>
#include <shunt/pgas/containers/scan.hpp>
#include <shunt/pgas/containers/set.hpp>
#include <shunt/pgas/containers/sort.hpp>
#include <shunt/pgas/containers/sparse_matrix.hpp>
