# SPDX-License-Identifier: MIT
#
# What others may try: hostile texts, roles with few rights, secrets in what
# the library says, the encryption of connections. See SECURITY.md.

cascade_test(security_texts test_texts.c NEEDS stores)
if(CASCADE_POSTGRES)
    cascade_test(security_roles test_roles.c ../engine/support/mix.c NEEDS
        server)
    cascade_test_program(security_wire test_wire.c ../faults/admin.c
        ../process/place.c)
    cascade_script_test(security_wire wire.sh
        $<TARGET_FILE:test_security_wire> NEEDS postgresql openssl LABELS long)
endif()
cascade_script_test(security_tokens tokens.sh ${PROJECT_SOURCE_DIR})
if(NOT CASCADE_SANITIZE)
    cascade_script_test(security_cjson cjson.sh
        ${PROJECT_SOURCE_DIR} $<TARGET_FILE:cascade>)
endif()
