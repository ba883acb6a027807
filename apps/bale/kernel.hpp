/// What the kernels are written with: places, rows or matrices, selectors, and arrays.
#pragma once

#include <algorithm>
#include <array>
#include <bale/matrix.hpp>
#include <bale/order.hpp>
#include <bale/permutation.hpp>
#include <bale/place.hpp>
#include <bale/rows.hpp>
#include <shunt/pgas.hpp>
#include <utility>
#include <vector>
