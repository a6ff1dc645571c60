// As main.cpp, for tests that run on a Vulkan driver.
#define DOCTEST_CONFIG_IMPLEMENT
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  // The loader unloads a driver with the last instance. What the driver leaked then belongs to no
  // library that the leak checker could name, and driver_leaks.lsan would not cover it.
  if (const char* const library = std::getenv("FELSITE_TEST_DRIVER_LIBRARY")) {
    dlopen(library, RTLD_NOW | RTLD_NODELETE);
  }
  return doctest::Context(argc, argv).run();
}
