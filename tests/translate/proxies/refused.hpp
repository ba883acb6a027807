// Interfaces that have no proxy, each with the reason on its line.
#pragma once

struct points {
  virtual ~points() = default;
  virtual int& at(int) = 0;  // refused: returns a reference
};

template <class T>
struct shelf {  // refused: is a template
  virtual ~shelf() = default;
  virtual void put(T) = 0;
};

namespace {
struct hidden {  // refused: has no name outside of its file
  virtual ~hidden() = default;
  virtual void put(int) = 0;
};
}  // namespace

class closed {
 public:
  virtual ~closed() = default;

 private:
  virtual void put(int) = 0;  // refused: is not public
};
