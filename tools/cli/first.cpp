/// In place of apps.cpp and doctor.cpp: a program with one application, SHUNT_FIRST_APP. `./shunt run` builds it where
/// there is no other yet, since the whole command takes three times as long.
#include <shunt/base/error.hpp>

#include "cli.hpp"

#define SHUNT_MAIN_OF(name) name##_main
#define SHUNT_MAIN(name) SHUNT_MAIN_OF(name)
#define SHUNT_TEXT_OF(name) #name
#define SHUNT_TEXT(name) SHUNT_TEXT_OF(name)

int SHUNT_MAIN(SHUNT_FIRST_APP)(int argc, char** argv);

namespace shunt::apps {

std::span<const app> all() {
  static constexpr app known[] = {{SHUNT_TEXT(SHUNT_FIRST_APP), "", SHUNT_MAIN(SHUNT_FIRST_APP)}};
  return known;
}

}  // namespace shunt::apps

namespace shunt::cli {

int doctor(bool) {
  throw usage_error(error_number(1108), "doctor: this program has one application; `./shunt doctor` builds the whole");
}

int simulate(std::vector<std::string>) {
  throw usage_error(error_number(1108),
                    "simulate: this program has one application; `./shunt simulate` builds the whole");
}

int calibrate(std::vector<std::string>) {
  throw usage_error(error_number(1108),
                    "calibrate: this program has one application; `./shunt calibrate` builds the whole");
}

}  // namespace shunt::cli
