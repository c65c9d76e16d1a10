-- How often an operation of the instance changed its state or said what is true. It moves under the
-- instance's lock: an observer's look that began at another number is old. Claims take no such lock
-- and are told by their operations' fences.
ALTER TABLE app_instances ADD COLUMN worked int NOT NULL DEFAULT 0;
