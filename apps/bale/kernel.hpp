/// What the kernels are written with: places or rows, and selectors.
#pragma once

#include <bale/place.hpp>
#include <bale/rows.hpp>
#include <shunt/pgas.hpp>
