"""What a run found, on one page: gathered, packed, and put into one HTML file."""




