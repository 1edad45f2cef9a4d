# SPDX-License-Identifier: MIT
#
# The public contract: what is refused and how, and what may be relied on.

cascade_test(api_adopt test_adopt.c raw_sql.c ../engine/support/mix.c
    ../engine/support/peer.c NEEDS stores)
cascade_test(api_adopt_chain test_adopt_chain.c raw_sql.c NEEDS stores)
cascade_test(api_adopt_sealed test_adopt_sealed.c raw_sql.c
    ../engine/support/peer.c NEEDS stores)
cascade_test(api_bad_input test_bad_input.c NEEDS stores)
cascade_test(api_bad_stores test_bad_stores.c NEEDS server)
cascade_test(api_arguments test_arguments.c NEEDS stores)
cascade_test(api_document test_document.c raw_sql.c NEEDS stores)
cascade_test(api_document_random test_document_random.c NEEDS stores)
cascade_test(api_document_texts test_document_texts.c raw_sql.c NEEDS stores)
cascade_test(api_document_tokens test_document_tokens.c NEEDS stores)
# A sanitizer does not hold the locks of its own allocator over a fork(): where
# other threads run, a child hangs in it.
if(CASCADE_SQLITE AND CASCADE_POSTGRES AND NOT CASCADE_SANITIZE)
    cascade_test(api_forked test_forked.c NEEDS stores)
endif()
cascade_test(api_foreign test_foreign.c raw_sql.c NEEDS stores)
cascade_test(api_order test_order.c raw_sql.c NEEDS stores)
cascade_test(api_marks test_marks.c raw_sql.c NEEDS stores)
cascade_test(api_early test_early.c raw_sql.c NEEDS stores)
cascade_test(api_forged test_forged.c NEEDS stores)
cascade_test(api_cascaide test_cascaide.c NEEDS stores)
cascade_test(api_renew test_renew.c ../engine/support/peer.c NEEDS stores)
cascade_test(api_counter test_counter.c NEEDS stores)
cascade_test(api_integrity test_integrity.c NEEDS stores)
cascade_test(api_looking test_looking.c raw_sql.c NEEDS stores)
cascade_test(api_messages test_messages.c NEEDS stores)
cascade_test(api_purge test_purge.c raw_sql.c NEEDS stores)
cascade_test(api_scarce test_scarce.c NEEDS stores)
cascade_test(api_shared test_shared.c NEEDS stores)
cascade_test(api_sized test_sized.c NEEDS stores)
if(CASCADE_SQLITE)
    cascade_test(api_sqlite_functions test_sqlite_functions.c)
endif()
cascade_test(api_within test_within.c connection.c NEEDS stores)
cascade_test(api_tampering test_tampering.c tamper.c raw_sql.c NEEDS stores
    LABELS long)
cascade_test(api_strays test_strays.c raw_sql.c NEEDS stores)
cascade_test(api_unreadable test_unreadable.c raw_sql.c NEEDS stores)
cascade_test(api_verify test_verify.c raw_sql.c ../engine/support/mix.c NEEDS
    stores)
cascade_test(api_verify_family test_verify_family.c NEEDS stores)
cascade_test(api_verify_others test_verify_others.c raw_sql.c NEEDS stores)
cascade_test(api_quiet test_quiet.c raw_sql.c NEEDS stores)
