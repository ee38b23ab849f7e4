# Completion of @SBX@ for fish: @SBX@ completion fish >~/.config/fish/completions/@SBX@.fish
function __sbx_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l offer
    for reply in ($typed[1] __complete $typed[2..-1] "$current" 2>/dev/null)
        switch $reply
            case ':*'
                set offer (string sub -s 2 -- $reply)
            case '*'
                echo $reply
        end
    end
    switch "$offer"
        case files
            __fish_complete_path "$current"
        case dirs
            __fish_complete_directories "$current" ''
        case commands
            __fish_complete_command
            __fish_complete_path "$current"
    end
end
complete -c @SBX@ -f -a '(__sbx_complete)'
