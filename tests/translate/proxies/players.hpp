// Interfaces, and classes that are none: what `shunt-translate proxies` makes of them is used by use.cpp.
#pragma once

#include <memory>
#include <shunt/actor.hpp>
#include <string>
#include <vector>

namespace game {

enum class colour { red, green };

struct named {
  virtual ~named() = default;
  virtual std::string name() = 0;
};

struct player : named {
  virtual void hit(shunt::ref<player> from, long ball = 3) = 0;
  virtual void hit(colour c) = 0;  // overloaded
  virtual long hits() const = 0;
  virtual std::string greet(std::string whom, std::unique_ptr<int> gift) = 0;
  virtual void many(const std::vector<colour>& all, std::vector<colour>&&) = 0;
};

struct no_interface {
  virtual ~no_interface() = default;
  int x = 0;
};

}  // namespace game
