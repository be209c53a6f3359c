"""What train_static.py is made of: the texts it learns from, the teacher it listens to, and the rows it learns."""
