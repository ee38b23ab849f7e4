module github.com/sbx-run/sbx/sandbox/filter/gen

go 1.26.6

require github.com/sbx-run/sbx v0.0.0

require github.com/seccomp/libseccomp-golang v0.11.1

replace github.com/sbx-run/sbx => ../../..
