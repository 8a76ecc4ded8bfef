// SPDX-License-Identifier: MIT
// The shared library has no code of its own: everything comes from the layers (cmake/Library.cmake).
