# SPDX-License-Identifier: MIT
#
# The model of ownership and fencing, checked by spin. Of a sanitizer it knows
# nothing.

if(CASCADE_SANITIZE)
    return()
endif()

cascade_script_test(model_ownership check.sh ${PROJECT_SOURCE_DIR} NEEDS spin
    LABELS long)
