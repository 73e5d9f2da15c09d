// Files one after the other over one connection of UDT (libudt 4), as its own example programs send one.
//   udt serve ADDRESS PORT FOLDER      writes what comes as 0, 1, 2, …, and ends with the sender
//   udt send ADDRESS PORT FILE...      sends, and ends when the receiver has confirmed everything
#include <arpa/inet.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <udt/udt.h>

using std::string;

static void check(bool failed, const char* what) {
  if (!failed) return;
  std::cerr << "udt: " << what << ": " << UDT::getlasterror().getErrorMessage() << "\n";
  std::exit(1);
}

static sockaddr_in place(const char* address, const char* port) {
  sockaddr_in found{};
  found.sin_family = AF_INET;
  found.sin_port = htons(std::atoi(port));
  check(inet_pton(AF_INET, address, &found.sin_addr) != 1, "address");
  return found;
}

static void all(UDTSOCKET socket, char* data, int size, bool sends) {
  for (int done = 0; done < size;) {
    int count = sends ? UDT::send(socket, data + done, size - done, 0) : UDT::recv(socket, data + done, size - done, 0);
    check(count == UDT::ERROR, sends ? "send" : "recv");
    done += count;
  }
}

static int serve(const sockaddr_in& here, const string& folder) {
  UDTSOCKET listener = UDT::socket(AF_INET, SOCK_STREAM, 0);
  check(UDT::bind(listener, reinterpret_cast<const sockaddr*>(&here), sizeof here) == UDT::ERROR, "bind");
  check(UDT::listen(listener, 1) == UDT::ERROR, "listen");
  std::cout << "ready" << std::endl;
  UDTSOCKET socket = UDT::accept(listener, nullptr, nullptr);
  check(socket == UDT::INVALID_SOCK, "accept");
  int64_t size = 0;
  for (int number = 0;; number++) {
    all(socket, reinterpret_cast<char*>(&size), sizeof size, false);
    if (size < 0) break;
    std::fstream file(folder + "/" + std::to_string(number), std::ios::out | std::ios::binary | std::ios::trunc);
    int64_t offset = 0;
    check(UDT::recvfile(socket, file, offset, size) == UDT::ERROR, "recvfile");
  }
  char done = 1;
  all(socket, &done, 1, true);
  all(socket, &done, 1, false);  // the sender has it
  UDT::close(socket);
  return 0;
}

static int send(const sockaddr_in& there, int count, char** files) {
  UDTSOCKET socket = UDT::socket(AF_INET, SOCK_STREAM, 0);
  check(UDT::connect(socket, reinterpret_cast<const sockaddr*>(&there), sizeof there) == UDT::ERROR, "connect");
  for (int number = 0; number < count; number++) {
    std::fstream file(files[number], std::ios::in | std::ios::binary);
    file.seekg(0, std::ios::end);
    int64_t size = file.tellg(), offset = 0;
    file.seekg(0);
    all(socket, reinterpret_cast<char*>(&size), sizeof size, true);
    check(UDT::sendfile(socket, file, offset, size) == UDT::ERROR, "sendfile");
  }
  int64_t end = -1;
  all(socket, reinterpret_cast<char*>(&end), sizeof end, true);
  char done = 0;
  all(socket, &done, 1, false);
  all(socket, &done, 1, true);
  UDT::close(socket);
  return 0;
}

int main(int count, char** arguments) {
  if (count < 5) {
    std::cerr << "udt serve ADDRESS PORT FOLDER | udt send ADDRESS PORT FILE...\n";
    return 2;
  }
  UDT::startup();
  sockaddr_in where = place(arguments[2], arguments[3]);
  int status = string(arguments[1]) == "serve" ? serve(where, arguments[4]) : send(where, count - 4, arguments + 4);
  UDT::cleanup();
  return status;
}
