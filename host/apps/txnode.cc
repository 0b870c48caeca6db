// SPDX-License-Identifier: BSD-3-Clause
#include "host/apps/node.h"

int main(int argc, char** argv) { return txnic::apps::run_node(argc, argv); }
