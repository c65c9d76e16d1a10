-- apps
SELECT 1;
