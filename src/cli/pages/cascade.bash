# bash completion for cascade(1)

_cascade()
{
    local word=${COMP_WORDS[COMP_CWORD]} words=
    local before=${COMP_WORDS[COMP_CWORD - 1]}

    case $COMP_CWORD:${COMP_WORDS[1]} in
    1:* | 2:help) words="ps show explain tail start wait signal complete cancel terminate pause resume retry rerun fork delete engines queues limit stats migrate adopt verify reseal purge export import schedule help version" ;;
    *) case ${COMP_WORDS[1]} in
    ps) words="--user --status --node --queue --older --after --limit --watch --store --schema --pooler --integrity --secrets --json --help" ;;
    show) words="--key --user --at --ui --payloads --tokens --store --schema --pooler --integrity --secrets --json --help" ;;
    explain) words="--key --user --store --schema --pooler --integrity --secrets --json --help" ;;
    tail) words="--key --user --from-start --payloads --tokens --store --schema --pooler --integrity --secrets --json --help" ;;
    start) words="--input --key --user --id --queue --priority --delay --deadline --reuse --limit-key --wait --store --schema --pooler --integrity --secrets --json --help" ;;
    wait) words="--key --user --timeout --payloads --store --schema --pooler --integrity --secrets --json --help" ;;
    signal) words="--key --user --payload --request-id --store --schema --pooler --integrity --secrets --json --help" ;;
    complete) words="--output --error --wait --store --schema --pooler --integrity --secrets --json --help" ;;
    cancel) words="--all --user --status --node --queue --older --key --request-id --reason --by --wait --yes --store --schema --pooler --integrity --secrets --json --help" ;;
    terminate) words="--all --user --status --node --queue --older --key --request-id --reason --by --wait --yes --store --schema --pooler --integrity --secrets --json --help" ;;
    pause) words="--all --queue --user --status --node --older --key --request-id --reason --by --wait --yes --store --schema --pooler --integrity --secrets --json --help" ;;
    resume) words="--all --queue --user --status --node --older --key --request-id --reason --by --wait --yes --store --schema --pooler --integrity --secrets --json --help" ;;
    retry) words="--all --user --status --node --queue --older --key --request-id --reason --by --wait --yes --store --schema --pooler --integrity --secrets --json --help" ;;
    rerun) words="--from --all --user --status --node --queue --older --key --request-id --reason --by --wait --yes --store --schema --pooler --integrity --secrets --json --help" ;;
    fork) words="--from --output --id --queue --all --user --status --node --older --key --request-id --reason --by --yes --store --schema --pooler --integrity --secrets --json --help" ;;
    delete) words="--all --user --status --node --queue --older --key --request-id --reason --by --wait --yes --store --schema --pooler --integrity --secrets --json --help" ;;
    engines) words="--store --schema --pooler --integrity --secrets --json --help" ;;
    queues) words="--store --schema --pooler --integrity --secrets --json --help" ;;
    limit) words="--running --key-running --none --reason --by --store --schema --pooler --integrity --secrets --json --help" ;;
    stats) words="--store --schema --pooler --integrity --secrets --json --help" ;;
    migrate) words="--check --trust --store --schema --pooler --integrity --secrets --json --help" ;;
    adopt) words="--dry-run --trust --yes --store --schema --pooler --integrity --secrets --json --help" ;;
    verify) words="--counter --against --store --schema --pooler --integrity --secrets --json --help" ;;
    reseal) words="--dry-run --trust --yes --store --schema --pooler --integrity --secrets --json --help" ;;
    purge) words="--completed --failed --yes --store --schema --pooler --integrity --secrets --json --help" ;;
    export) words="--key --user --tokens --store --schema --pooler --integrity --secrets --json --help" ;;
    import) words="--new-ids --queue --store --schema --pooler --integrity --secrets --json --help" ;;
    schedule) words="--zone --from --count --dialect --every --spec --json --help" ;;
    help) words="--man --bash --help" ;;
    version) words="--json --help" ;;
    esac ;;
    esac
    case $before in
    --integrity) words="none checksum hmac" ;;
    --status) words="running completed error" ;;
    --reuse) words="never ended failed terminate" ;;
    --dialect) words="ocps quartz" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _cascade cascade
