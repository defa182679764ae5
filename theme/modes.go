package theme

// Modes returns the looks that a user can select; auto follows the terminal's background.
func Modes() []string { return []string{"auto", "dark", "light", "high-contrast", "ansi16", "mono"} }
