//go:build !js

package labpage

import "embed"

//go:embed web
var web embed.FS
