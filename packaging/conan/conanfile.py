"""Shunt for Conan 2: the library of the tree that this file lies in.

  conan create packaging/conan --build=missing
"""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class ShuntConan(ConanFile):
    name = "shunt"
    package_type = "library"
    license = "MIT"
    description = "A concurrency runtime from cache line to cluster"
    topics = ("concurrency", "fibers", "actors", "transactional-memory", "pgas")
    settings = "os", "compiler", "build_type", "arch"
    options = {"shared": [True, False], "fPIC": [True, False], "mpi": [True, False]}
    default_options = {"shared": False, "fPIC": True, "mpi": False}
    generators = "CMakeDeps"

    def _root(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", ".."))

    def set_version(self):
        text = load(self, os.path.join(self._root(), "CMakeLists.txt"))
        self.version = self.version or re.search(r"^project\(shunt VERSION (\S+)", text, re.M)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "src/*", "tools/gdb/*"):
            copy(self, pattern, self._root(), self.export_sources_folder)

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("shunt runs on Linux only")
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("zlib/[>=1.2.11 <2]")
        if self.options.mpi:
            self.requires("openmpi/[>=4.1 <5]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["SHUNT_TESTS"] = False
        toolchain.cache_variables["SHUNT_APPS"] = False
        toolchain.cache_variables["SHUNT_MPI"] = "auto" if self.options.mpi else "off"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "shunt")
        self.cpp_info.set_property("cmake_target_name", "shunt::shunt")
        self.cpp_info.set_property("pkg_config_name", "shunt")
        self.cpp_info.libs = ["shunt"]
        self.cpp_info.system_libs = ["pthread", "dl"]
        self.cpp_info.cxxflags = ["-fstack-clash-protection"]  # frames larger than the guard below a fiber's stack
        if self.options.mpi:
            self.runenv_info.append_path("SHUNT_PLUGINS", os.path.join(self.package_folder, "lib", "shunt"))
