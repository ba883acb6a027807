/// Module header of `pgas`: PEs, symmetric objects, actors and selectors, collectives.
#pragma once

#include <shunt/pgas/actor_of.hpp>
#include <shunt/pgas/array.hpp>
#include <shunt/pgas/checkpoint.hpp>
#include <shunt/pgas/job_plan.hpp>
#include <shunt/pgas/launch.hpp>
#include <shunt/pgas/mailbox_order.hpp>
#include <shunt/pgas/per_pe.hpp>
#include <shunt/pgas/recording.hpp>
#include <shunt/pgas/selector.hpp>
#include <shunt/pgas/time_limit.hpp>
