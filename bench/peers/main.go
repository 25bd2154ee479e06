// Command peers compares Tendon with other libraries: donburi and ark as component stores, kcp-go's sessions as a room
// server. It is a module of its own, so that Tendon does not depend on them.
//
//	cd bench/peers && go run . [-row iterate] [-write]
//
// bench/README.md describes the method.
package main

import (
	"fmt"
	"os"
	"slices"

	"tendon/bench/internal/measure"
	"tendon/bench/internal/process"
)

// roles are the functions of a process that this program started.
var roles = map[string]func() error{
	"kcp server": kcpServer, "kcp load": kcpLoad,
	"tendon server": tendonServer, "tendon load": tendonLoad,
}

func main() {
	err := fmt.Errorf("no such role")
	if role, ok := roles[process.Role()]; ok {
		err = role()
	} else {
		rows := slices.Concat(iterateRows(), roomRows())
		err = measure.Main(rows, "peers", "cd bench/peers && go run . -row", "../README.md")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}
