# The thread sanitizer does not see how libgomp's threads wait for each other, and reports every loop. LLVM's libomp has the
# same functions, and its tool archer tells the sanitizer (Debian: libomp-dev).
file(GLOB folders /usr/lib/llvm-*/lib)
find_library(MF_OMP NAMES omp PATHS ${folders})
find_library(MF_ARCHER NAMES archer PATHS ${folders})
if(NOT MF_OMP OR NOT MF_ARCHER)
  message(FATAL_ERROR "the thread sanitizer needs libomp and libarcher (Debian: libomp-dev)")
endif()
set_target_properties(OpenMP::OpenMP_C PROPERTIES INTERFACE_LINK_LIBRARIES ${MF_OMP})
