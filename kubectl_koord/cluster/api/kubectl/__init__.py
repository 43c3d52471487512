"""Through kubectl itself: `kubectl proxy` on a private socket.

Whatever kubectl knows of identity and networks (several files, exec plugins, impersonation, proxies, CAs) is thereby
right. It costs 90 ms, most of it while we import.
"""
