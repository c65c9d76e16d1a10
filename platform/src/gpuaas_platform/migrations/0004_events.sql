-- events
SELECT 1;
