"""A model beside its parallel plan or its compiled form, which run in processes of their own."""
