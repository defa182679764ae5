package theme

// Modes are the looks that a person can choose from; auto follows the terminal's background.
func Modes() []string { return []string{"auto", "dark", "light", "high-contrast", "ansi16", "mono"} }
