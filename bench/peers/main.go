// Command peers measures Tendon beside other libraries: donburi and ark as stores of components, kcp-go's sessions as
// a room server. It is a module of its own, so that what it compares with is not a dependency of Tendon.
//
//	cd bench/peers && go run . [-row iterate] [-write]
//
// bench describes how figures come about.
package main

import (
	"fmt"
	"os"
	"slices"

	"tendon/bench/internal/measure"
	"tendon/bench/internal/process"
)

// roles are what this program does when it was started by itself.
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
