"""SQL of the apps room: instances, members, operations, controllers seen."""
