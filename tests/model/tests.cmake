# SPDX-License-Identifier: MIT
#
# The models of ownership and of limits, checked by spin. Of a sanitizer they
# know nothing.

if(CASCADE_SANITIZE)
    return()
endif()

cascade_script_test(model_ownership check.sh ${PROJECT_SOURCE_DIR} NEEDS spin
    LABELS long)
