"""What `bmad doctor` looks at. Each check takes facts and gives lines; none of them raises."""
