-- capacity
SELECT 1;
