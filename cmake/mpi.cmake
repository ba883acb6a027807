# placeholder, filled by the transport room
