//go:build headless

package window

import "fmt"

// Check returns the reason why no window can be opened.
func Check() error {
	return fmt.Errorf("%w: this binary was built with the tag headless", ErrUnavailable)
}

// Run returns the error of Check.
func Run(Config) error { return Check() }
