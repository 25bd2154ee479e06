// Package check decodes the Kubernetes files of cmd/cli/deploy strictly, in tests: a field that does not exist is an error. It is a
// module of its own, so that Tendon does not need the types of Kubernetes.
package check
