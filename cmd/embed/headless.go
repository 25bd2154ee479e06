//go:build headless

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "embed: this binary was built with the tag headless, and embed is its window: build it without the tag")
	os.Exit(2)
}
