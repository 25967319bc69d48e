"""What a link gives, measured with plain sockets.
  link_probe.py serve HOST PORT      until killed
  link_probe.py measure HOST PORT    prints JSON: round_trip_s (median), bytes_per_s
"""
import json
import socket
import sys
import threading
import time

ROUND_TRIPS = 50
STREAM_S = 0.5
CHUNK = bytes(1 << 18)
BYTE = b"."


def answer(connection):
    """Echoes ROUND_TRIPS bytes, then takes all that comes and says how much it was."""
    with connection:
        for _ in range(ROUND_TRIPS):
            connection.sendall(connection.recv(1))
        total = 0
        while received := connection.recv(1 << 20):
            total += len(received)
        connection.sendall(str(total).encode())


def serve(host, port):
    with socket.create_server((host, port)) as listener:
        print("listening", flush=True)
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=answer, args=(connection,), daemon=True).start()


def measure(host, port):
    with socket.create_connection((host, port), timeout=10) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        trips = []
        for _ in range(ROUND_TRIPS):
            start = time.perf_counter()
            connection.sendall(BYTE)
            connection.recv(1)
            trips.append(time.perf_counter() - start)
        start = time.perf_counter()
        while time.perf_counter() < start + STREAM_S:
            connection.sendall(CHUNK)
        connection.shutdown(socket.SHUT_WR)
        total = int(connection.recv(64))
        seconds = time.perf_counter() - start
    print(json.dumps({"round_trip_s": sorted(trips)[len(trips) // 2],
                      "bytes_per_s": total / seconds}))


if __name__ == "__main__":
    {"serve": serve, "measure": measure}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
