// `cubeplane up` and `cubeplane down`.
#pragma once

#include <string>

#include "base/error.h"
#include "cmd/options.h"
#include "cmd/places.h"

namespace cubeplane::cmd {

// A small parent watches two children: the node process, which keeps root, and the control plane, which gives
// it up. A child that is killed is started again after a pause; a fault at start ends all with one sentence.
// TERM, INT: stops the control plane, then the node; pods and HAProxy go on.
int UpMain(int argc, char** argv);
// Ends everything of one installation: control plane, pods, HAProxy, sockets. Files stay.
int DownMain(int argc, char** argv);

// The error's sentence in the language of the environment where it has one (a code of api/reasons.yaml), else
// its English text.
std::string SentenceOf(const Error& error);

// The control plane itself, in a process of its own, until TERM or INT (plane.cc). Gives the exit code.
int RunPlane(const UpOptions& options, const Places& places);

}  // namespace cubeplane::cmd
