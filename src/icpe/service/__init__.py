"""The HTTP service: sessions for a team, over the storage that holds them.

`icpe.service.app` needs the extra `serve`; nothing here is imported before it is used.
"""
