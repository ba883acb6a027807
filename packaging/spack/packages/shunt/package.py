from spack.package import *


class Shunt(CMakePackage):
    """A concurrency runtime from cache line to cluster: fibers, actors, railways, transactions, and messages between
    processing elements on threads or over MPI."""

    license("MIT")

    version("main")  # of the tree in which `spack dev-build shunt@main` is called

    variant("mpi", default=True, description="Build the transport over MPI, a plugin that is opened at run time")
    variant("apps", default=False, description="Build the command shunt with its applications")
    variant("shared", default=True, description="Build the library shared")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("zlib-api")
    depends_on("mpi", when="+mpi")
    depends_on("cli11@2.3:", when="+apps")
    depends_on("nlohmann-json@3.11:", when="+apps")
    depends_on("fmt@9:", when="+apps")

    conflicts("%gcc@:11", msg="shunt needs the C++20 of gcc 12")
    conflicts("platform=darwin", msg="shunt runs on Linux only")
    conflicts("platform=windows", msg="shunt runs on Linux only")

    def cmake_args(self):
        return [
            self.define("SHUNT_TESTS", False),
            self.define_from_variant("SHUNT_APPS", "apps"),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define("SHUNT_MPI", "auto" if self.spec.satisfies("+mpi") else "off"),
        ]
