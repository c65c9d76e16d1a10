-- operate
SELECT 1;
