-- Members that one deploy made, found by the moment they share with it, for the timeline of its id.
CREATE INDEX app_members_made ON app_members (instance_id, created_at);
