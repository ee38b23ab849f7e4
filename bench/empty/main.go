// Command empty is the floor of every start-up figure.
package main

func main() {}
