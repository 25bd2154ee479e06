//go:build headless

package window

import "fmt"

// Check reports why no window can be opened.
func Check() error {
	return fmt.Errorf("%w: this binary was built with the tag headless", ErrUnavailable)
}

// Run reports why no window can be opened.
func Run(Config) error { return Check() }
