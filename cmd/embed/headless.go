//go:build headless

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "embed: this binary has the build tag headless, so it has no window: build it without the tag")
	os.Exit(2)
}
