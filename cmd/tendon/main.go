// Command tendon makes the module of a new game and checks its rules.
//
//	go run ./cmd/tendon new ../mygame              in a clone of the engine: the module uses the clone
//	go run tendon/cmd/tendon new ../mygame         in a module that uses a version of the engine: the new one uses it too
//	cd ../mygame && go run . play --net P3         play it over a typical network
//	go run tendon/cmd/tendon vet ./...             in the module: report rules that are not deterministic
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

// exitUsage is the exit code of wrong use, and of an environment in which the verb cannot run.
const exitUsage = 2

type verbs struct {
	New newVerb `cmd:"" help:"Make the module of a new game that builds, runs and is tested."`
	Vet vetVerb `cmd:"" help:"Report rules that are not deterministic."`
}

type newVerb struct {
	Dir    string `arg:"" help:"Folder of the module. It is made, or must be empty."`
	Module string `help:"Path of the module. Default: the name of the folder."`

	Template string `enum:"action,orders,turns" default:"action" help:"Game to begin with. action: air hockey, where each tick has an input. orders: armies that follow typed orders. turns: cards with hidden hands."`
}

// Help follows the first line of the verb's help.
func (newVerb) Help() string {
	return `In a clone of the engine, the new module uses that clone. In a module that uses
a clone or a version of the engine, the new module uses the same.

Examples:

    new ../mygame
    new ../mygame --template orders
    new ../mygame --module example.com/mygame`
}

func main() {
	var v verbs
	parser := kong.Must(&v, kong.Name("tendon"), kong.Description("Make networked games with Tendon."))
	args := os.Args[1:]
	if len(args) == 0 {
		args = []string{"--help"}
	}
	verb, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "tendon: %v; see tendon --help\n", err)
		os.Exit(exitUsage)
	}
	code := 0
	if verb.Selected().Name == "vet" {
		code, err = v.Vet.run(os.Stdout, os.Stderr)
	} else {
		err = v.New.run(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tendon:", err)
		code = exitUsage
	}
	os.Exit(code)
}
