from django.db import models


class Product(models.Model):
    name = models.CharField(max_length=80, unique=True)
    manual = models.FileField(upload_to="manuals")
    for_sale = models.BooleanField(default=True)

    def __str__(self):
        return self.name
