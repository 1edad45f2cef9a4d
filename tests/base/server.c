/* SPDX-License-Identifier: MIT */
#include "base/server.h"

#include <stdlib.h>

#include "base/support.h"

PGconn *server_conn;

int
server_open(void **state)
{
    const char *conninfo = getenv("CASCADE_TEST_PG");

    (void)state;
    if (conninfo == NULL) {
        print_error("CASCADE_TEST_PG names no server\n");
        return -1;
    }
    server_conn = PQconnectdb(conninfo);
    if (PQstatus(server_conn) != CONNECTION_OK ||
        PQsetClientEncoding(server_conn, "UTF8") != 0) {
        print_error("%s", PQerrorMessage(server_conn));
        return -1;
    }
    return 0;
}

int
server_close(void **state)
{
    (void)state;
    PQfinish(server_conn);
    return 0;
}
