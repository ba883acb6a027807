#include "abi.hpp"

int main() { return shunt::testing::abi(); }
