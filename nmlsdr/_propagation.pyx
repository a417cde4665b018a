# placeholder, replaced in the next commits
